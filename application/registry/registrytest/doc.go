// Package controltest has what control.New needs, in memory: a Store that keeps
// the promises of the port for one process, and a WorkerManager, a CallbackPolicy and a
// TestSender that remember what they were asked. It is for tests of control and of
// the adapters in front of it.
package registrytest
