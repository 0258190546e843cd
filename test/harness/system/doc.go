// Package system runs the built stream-monitor as its users do: as a process that
// is called by REST. It reads the log line by line. Environment variables alone
// direct the process to a fake of YouTube.
package system
