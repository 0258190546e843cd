// Package workshop is where tests find what they work with: the tools that the
// service calls, and a place on disk for material that is made once.
package testtools
