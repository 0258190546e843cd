// Package architecture holds the test of who may import whom. It reads imports
// only, so it answers in about a second.
package architecture
