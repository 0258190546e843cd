// Package stream is what the packages of sources below it share: the tools of a process, of which each
// package makes the adapters of its source.
package stream

import (
	"context"
	"net/http"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/adapters/internal/reference"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/worker"
)

// Site is a source as yt-dlp and streamlink are asked about it.
type Site = pythontool.Site

// Reason is what some words of a site mean.
type Reason = pythontool.Reason

// Channels says how yt-dlp lists the streams of the channels of a site.
type Channels = pythontool.Channels

// Choices are what an operator may choose about how yt-dlp asks sources. An empty field leaves it to yt-dlp.
type Choices struct {
	PlayerClients string // YTDLP_PLAYER_CLIENTS: names of clients, separated by commas
	POTokenURL    string // YTDLP_PO_TOKEN_URL: of a server of the plugin bgutil, which makes proof-of-origin tokens
	JSRuntime     string // YTDLP_JS_RUNTIME: a name, or NAME:PATH
}

// Getter gets small resources, such as manifests, within the time limits of all media. Errors are *watch.Failure.
type Getter interface {
	// Get gets at most limit bytes of a resource.
	Get(ctx context.Context, url string, limit int64) (body []byte, from reference.Origin, err error)

	// Head gets what the header of a resource says of its origin.
	Head(ctx context.Context, url string) (from reference.Origin, err error)
}

// Requester gets manifests and fetches segments.
type Requester interface {
	Getter
	worker.SegmentFetcher
}

// Open requests an endless response and returns it, whatever its status is, once its header is read. Its errors, and those of
// reading its body, are *watch.Failure or io.EOF.
type Open func(ctx context.Context, url string) (*http.Response, error)

// Tools are what a process asks sources with. All requests leave through the egress address of their
// context (application/worker/request).
type Tools struct {
	Choices Choices
	Client  *http.Client

	// Endless requests audio streams, also in MEDIA_ALLOWED_NETWORKS.
	Endless Open

	// Own requests the media of streams of one's own, also in MEDIA_ALLOWED_NETWORKS. Manifests makes a reader of HLS and DASH
	// that gets all it needs so.
	Own       Requester
	Manifests func(Getter) worker.PlaylistReader

	YTDLP      func(Site) worker.Resolver
	Streamlink func(Site) worker.Resolver

	// InOrder makes a Resolver that asks the secondary only if the primary learns nothing. Each has circuit
	// breakers of its own (adapters/stream/fallback).
	InOrder func(primary, secondary worker.Resolver) worker.Resolver

	// YTDLPLister and StreamlinkLister make Listers that run a tool; streamlink lists places alone. Guarded makes one of
	// another that runs no tool; name is what logs call it. Each has circuit breakers of its own.
	YTDLPLister      func(Site) channels.Lister
	StreamlinkLister func(Site) channels.Lister
	Guarded          func(name string, l channels.Lister) channels.Lister

	// Uploads lists the uploads of channels by the YouTube Data API; nil: there is no key.
	Uploads channels.Lister
}
