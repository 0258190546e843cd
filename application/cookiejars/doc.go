// Package cookiejars keeps the cookie files that people upload for streams that need a login (section 17.7).
//
//	administrator ──▶ Create, Replace, Delete ──▶ Store, which encrypts ──▶ List: never the cookies
//	worker ◀── Jar, with its assignment      ◀──┤
//	       ──▶ Return: what a run has left   ──▶┘ in one transaction; package cookie decides
//	preview ──▶ Lend
//
// What the store cannot decrypt, or has no more, is a jar of version 0: the stream is watched without cookies, and the
// resolver takes no refusal for an answer.
package cookiejars
