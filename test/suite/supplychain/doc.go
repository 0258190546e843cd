// Package supplychain tests that what is shipped can be traced to its sources (section
// 13.2). Lock files have the hashes of Python tools and of FFmpeg's sources,
// deploy/base-images the digests of base images, and workflows name actions by their
// commits. "make reproducible" builds the program twice (reproducible.sh), which takes too
// long for a unit test.
package supplychain
