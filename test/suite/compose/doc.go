// Package compose proves deploy/compose.yaml on a real engine: from nothing to
// the first alert-ready monitor, through a gateway that dies in the middle of an
// alert, a database that restarts and an upgrade, to nothing again.
//
//	stand-ins on a network's host address ◀── gateway ── postgres     a project of its own
//	       ▲                                    ▲
//	       └────────────── the play ─── REST ───┘
//
// "make test-compose" runs it on the image that IMAGE names.
package compose
