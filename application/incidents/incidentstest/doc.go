// Package incidentstest has a fake of the ports of application/incidents, in memory.
package incidentstest
