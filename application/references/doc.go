// Package references keeps the pictures that people upload for detectors to look for (section 17.6).
//
//	caller ──▶ Add: limits, decode, digest ──▶ Store ──▶ list, image ──▶ caller
//	                                             └─────▶ digests ──▶ assignment of the worker
//
// A picture is decoded once, when it is uploaded, one at a time in a gateway. It may be hostile, so its header is
// read before any memory is taken for it. Workers get digests alone: of the pictures of their monitor, and of those of
// its channel. A change makes a new revision of each monitor that it concerns, by which its worker notices it.
package references
