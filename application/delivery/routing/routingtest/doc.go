// Package routingtest provides the ports of routing in memory, for tests of what uses them.
package routingtest
