// Package cookie reads the cookie files that browsers export, and decides which of two versions of a jar is kept
// (section 17.7).
//
//	upload ──▶ Parse ──▶ Keep: those of the sources ──▶ version 1 of a Jar
//	a run gets version n, and leaves a Use ──▶ Site.Renew ─┬─ rejected, or no login in it ─▶ version n stays
//	                                                       └─ else ────────────────────────▶ the next version
//
// A cookie file opens the account of its owner. No error of this package contains any part of one, and a Text prints as a
// placeholder.
package cookie
