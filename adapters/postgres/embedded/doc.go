// Package embedded runs a private PostgreSQL from the binaries installed on
// the machine, for a gateway that was given no database (decision P3).
//
//	DATA_DIR/
//	├── postgres.lock   held while a gateway runs on DATA_DIR
//	├── postgres.new/   only while the cluster is being made
//	└── postgres/       the cluster; its socket is in it too
//
// What it guarantees:
//
//   - It never runs as root. Started as root it becomes the owner of the
//     cluster or, for a new one, the user postgres, else nobody. It changes the
//     owner of the directory it makes and of nothing else; DATA_DIR may lie where
//     that user could not go, because the server is handed its directory open.
//   - It never wipes, upgrades or repairs. A cluster of another major version is
//     an error that names both versions, and nothing is touched. A cluster
//     appears under its name only once it is complete.
//   - It is reachable through a unix socket only, and only by the user that
//     started it (peer authentication): there is no password and no port.
//   - A commit is on disk when it is answered: fsync stays on.
//   - One gateway per DATA_DIR. A second one gets an error. A server that
//     outlived its gateway (SIGKILL) is ended by the next one, then started
//     afresh; what was committed is there.
//   - A server that dies is started again, after a quarter of a second, then
//     after two quarters, up to two seconds; the address stays the same. So it is
//     back by itself soon after there is space again on a disk that was full.
//   - Stop ends it: by fast shutdown, and by force if it does not obey.
package embedded
