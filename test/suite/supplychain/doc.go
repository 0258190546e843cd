// Package supplychain tests that what is shipped can be traced to its sources
// (section 13.2): Python tools by the hashes of lock files, base images by digests,
// actions of workflows by commits. "make reproducible" builds the program twice
// (reproducible.sh), which takes too long for a unit test.
package supplychain
