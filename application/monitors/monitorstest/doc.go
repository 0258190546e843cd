// Package monitorstest has fakes for the tests of packages monitors and intake, and of the adapters that call
// them: a WorkerManager and a TestSender that record their calls, and a Store that lets those of a real one fail.
package monitorstest
