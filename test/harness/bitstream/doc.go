// Package bitstream changes encoded test material: it writes captions into pictures, and loses packets.
package bitstream
