// Package historytest has a fake of the ports of application/history, in memory.
package historytest
