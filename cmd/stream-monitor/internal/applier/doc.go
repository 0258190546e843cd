// Package applier makes monitors, channels, destinations, routes, silences and duty as a file has them
// (section 19.8), by the public API.
//
//	Read   reads the file, replaces variables, and names everything that is wrong
//	Apply  reads what the gateway has, shows the differences, and makes them
//	Export writes the file of what the gateway has
//
// A file has an owner, and so has everything that it keeps. The elements of
// another file or of the API are never changed; only the default route is taken over, if nothing
// owns it, and on demand what no file keeps. A watch is ended only on demand. An element is recognized by its name,
// a silence by its comment, a monitor or a channel by its URL. Equal elements are left alone, so that a second run changes nothing. Secrets are never read back: the
// gateway says in a dry run whether they differ.
package applier
