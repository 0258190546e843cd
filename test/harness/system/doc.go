// Package system runs the real stream-monitor as its users do: the built
// binary as a process of its own, spoken to by REST, its log read line by line.
// Where YouTube is, is told by the environment alone. The acceptance tests and
// the demonstration use it alike.
package system
