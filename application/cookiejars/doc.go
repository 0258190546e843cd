// Package cookiejars keeps the cookie files that people upload for streams that need a login (section 17.7).
//
//	administrator ──▶ Create, Replace, Delete ──▶ Store, which encrypts ──▶ List: never the cookies
//	worker ◀── Jar, with its assignment      ◀──┤
//	       ──▶ Return: what a run has left   ──▶┘ in one transaction; package cookie decides
//	preview ──▶ Lend
//
// A jar that the store cannot decrypt, or has no more, has version 0. The stream is then watched without cookies, and a
// refusal says nothing of the stream.
package cookiejars
