package main

import (
	"context"
	"errors"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

// Run examines what serve needs, says what to do about each finding, and fails
// if anything is amiss.
func (c *DoctorCmd) Run(ctx context.Context, out console) error {
	ok, err := doctor{cfg: *c, pingDB: pingDB, askCluster: askCluster}.examine(ctx, out.out)
	if err == nil && !ok {
		err = errors.New("not everything is in order; see above")
	}
	return err
}

// askCluster finds out whether pods may be run.
func askCluster(ctx context.Context, f ClusterFlags) (namespace string, err error) {
	cluster, err := f.open()
	if err != nil {
		return "", err
	}
	return cluster.Namespace(), cluster.Check(ctx)
}

// pingDB connects to a database once.
func pingDB(ctx context.Context, dsn string) error {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	return store.Close()
}
