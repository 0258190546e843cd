// Package recordtest has fakes of the ports of application/record, in memory.
package recordtest
