// Package httpx is the HTTP layer under every endpoint of the API: the state of one request (Exchange), the access log,
// limits on bodies and concurrency, responses and the one error table, streams, and the headers by which the hosts of a pool
// pass requests to one another. It knows no operation, no access key and no leader.
package httpx
