// Package registrytest has the ports that registry.NewServices needs, in memory, for tests
// of package registry and of the adapters that call it. Its Store keeps the
// guarantees of the ports within one process. Its WorkerManager and TestSender
// record their calls.
package registrytest
