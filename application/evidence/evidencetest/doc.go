// Package evidencetest has fakes of the ports of application/evidence, in memory.
package evidencetest
