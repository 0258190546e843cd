// Package test holds what concerns several packages at once: the architecture
// test, the acceptance timelines and the stand-ins they need. Nothing of the
// product imports it.
package test
