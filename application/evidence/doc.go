// Package evidence takes pictures, levels and clips from workers and shows them to callers
// (sections 16.2 and 17.2). It keeps them for as long as their class says.
//
//	worker ──▶ record in a Store, bytes in a BlobStore ──▶ signed link ──▶ reader
//	worker ──▶ thumbnail ──▶ page that shows the monitor
//
// The types of evidence are those of domain/evidence. An alert never waits for evidence:
// it arrives in reports of its own, and what fails is logged.
package evidence
