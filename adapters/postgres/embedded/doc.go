// Package embedded runs a private PostgreSQL server from the binaries installed
// on the machine, for a gateway without a configured database (decision P3).
//
//	DATA_DIR/
//	├── postgres.lock   held while a gateway runs on DATA_DIR
//	├── postgres.new/   exists only while initdb runs
//	└── postgres/       the database cluster, with its socket
//
// Guarantees:
//
//   - The server never runs as root. If the gateway is root, it runs as the owner
//     of the cluster; a new cluster belongs to the user postgres, else nobody.
//     Only the cluster's own directory changes its owner. DATA_DIR may lie where
//     that user has no access, because the server inherits its open directory.
//   - No data is deleted, upgraded or repaired. A cluster of another major version
//     is an error that names both versions. A cluster gets its final name only
//     when it is complete.
//   - Clients reach the server only through a unix socket, and only as the user
//     that started it (peer authentication). There is no password and no port.
//   - A commit is on disk when it is acknowledged: fsync is on.
//   - One gateway runs per DATA_DIR; a second one gets an error.
//
// Failure behaviour:
//
//   - A gateway ends a server that outlived the previous gateway (SIGKILL), and
//     starts it again. Committed data is kept.
//   - A server that dies is started again after 250 ms, doubled up to 2 s. Its
//     address stays the same. After a full disk it is back within seconds of
//     there being space.
//   - Stop ends the server by fast shutdown, and by force if that takes too long.
package embedded
