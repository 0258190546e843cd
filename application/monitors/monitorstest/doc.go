// Package monitorstest has the ports that packages monitors and intake need, in memory, for
// their tests and those of the adapters that call them. Its Store keeps the
// guarantees of the ports within one process. Its WorkerManager and TestSender
// record their calls.
package monitorstest
