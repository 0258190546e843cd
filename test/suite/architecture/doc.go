// Package architecture holds the test of who may import whom. It reads imports
// only, so it answers in about a second. Another test refuses doc comments whose
// first sentence does not say what the thing is or does.
package architecture
