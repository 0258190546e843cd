// Package image tests the image that deploy/Dockerfile builds. It has the tools of
// section 13.1. It works as a cluster runs it: without root, writable files or
// capabilities. Its ffmpeg finds what a full ffmpeg finds. The image also serves to
// test deploy/systemd, in a container with systemd.
//
// "make image-smoke" runs the tests on the image that IMAGE names. The scripts in
// this folder build it ("make image"), and provide what a build needs: a container
// engine (engine.sh) and base images (bases.sh).
package image
