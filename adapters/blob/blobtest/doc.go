// Package blobtest is the conformance suite of blob stores: every implementation of
// record.BlobStore and record.BlobCleaner passes Run.
package blobtest
