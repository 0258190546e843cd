// Package routing keeps destinations, routes and silences (section 19) for the API. Who
// is told what is decided in notify.
package routing
