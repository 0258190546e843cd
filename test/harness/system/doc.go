// Package system runs the real stream-monitor as its users do: the built
// binary is a process of its own, called by REST, and its log is read line by
// line. Only the environment leads it to a stand-in for YouTube.
package system
