//go:build !linux

package main

import "context"

func keepSmall(context.Context) {}
