// Package image proves what deploy/Dockerfile makes: that it has the tools of
// section 13.1, that it works as it is run in a cluster (no root, nothing to
// write, no capability), and that its ffmpeg sees what a distribution's sees. With
// what the image has it also proves deploy/systemd, on a systemd in a container.
// "make image-smoke" runs it on the image that IMAGE names.
//
// The scripts beside it build that image ("make image") and bring up what that
// takes, where it is missing: an engine (engine.sh) and base images (bases.sh).
package image
