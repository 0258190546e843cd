// Package request carries the egress address of a request in its context, from the worker to
// the adapters (section 10.3).
package request

import "context"

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
