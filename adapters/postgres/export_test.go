package postgres

// Complete and LeaseQuery are shown to the tests of this package.
var Complete = complete

const LeaseQuery = lease
