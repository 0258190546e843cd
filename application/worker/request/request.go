// Package request carries parts of a request in its context, from the worker to the adapters. They are the egress
// address (section 10.3), the header of a URL (section 5.5), the cookie jar (section 17.7) and the stream's secret
// (decision A1).
package request

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

type headerKey struct{}

// WithHeader returns a context for requests that carry a header. A nil one changes nothing.
func WithHeader(ctx context.Context, h *watch.RequestHeader) context.Context {
	if h == nil {
		return ctx
	}
	return context.WithValue(ctx, headerKey{}, h)
}

// Header returns the header of ctx; nil: none.
func Header(ctx context.Context) *watch.RequestHeader {
	h, _ := ctx.Value(headerKey{}).(*watch.RequestHeader)
	return h
}

// OfSegment returns a context for the requests of a segment: they leave and look as those for its playlist did.
func OfSegment(ctx context.Context, s watch.Segment) context.Context {
	return WithHeader(WithEgress(ctx, s.Egress), s.Header)
}

type egressKey struct{}

type avoidedEgressKey struct{}

// WithEgress returns a context for requests that leave through an egress address. An empty
// name changes nothing.
func WithEgress(ctx context.Context, address string) context.Context {
	if address == "" {
		return ctx
	}
	return context.WithValue(ctx, egressKey{}, address)
}

// Egress returns the name of the egress address of ctx; empty: none was chosen.
func Egress(ctx context.Context) string {
	address, _ := ctx.Value(egressKey{}).(string)
	return address
}

// WithAvoidedEgress returns a context for questions that leave through another egress address
// than this, if there is one. An empty name changes nothing.
func WithAvoidedEgress(ctx context.Context, address string) context.Context {
	if address == "" {
		return ctx
	}
	return context.WithValue(ctx, avoidedEgressKey{}, address)
}

// AvoidedEgress returns the name of the egress address that ctx avoids; empty: none.
func AvoidedEgress(ctx context.Context) string {
	address, _ := ctx.Value(avoidedEgressKey{}).(string)
	return address
}
