// Package blobtest is the conformance suite of blob stores: every implementation of
// evidence.BlobStore and evidence.BlobCleaner passes Run.
package blobtest
