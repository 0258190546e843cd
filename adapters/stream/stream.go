// Package stream is what the packages of sources below it share: the tools of a process, of which each
// package makes the adapters of its source.
package stream

import (
	"net/http"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/application/worker"
)

// Site is a source as yt-dlp and streamlink are asked about it.
type Site = pythontool.Site

// Reason is what some words of a site mean.
type Reason = pythontool.Reason

// Channels says how yt-dlp lists the streams of the channels of a site.
type Channels = pythontool.Channels

// Tools are what a process asks sources with. All requests leave through the egress address of their
// context (application/worker/request).
type Tools struct {
	Client     *http.Client
	YTDLP      func(Site) worker.Resolver
	Streamlink func(Site) worker.Resolver

	// InOrder makes a Resolver that asks the secondary only if the primary learns nothing. Each has circuit
	// breakers of its own (adapters/stream/fallback).
	InOrder func(primary, secondary worker.Resolver) worker.Resolver
}
