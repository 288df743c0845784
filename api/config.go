package api

import (
	"log/slog"
	"time"
)

// Config is what a handler serves from.
type Config struct {
	Cluster Cluster
	Host    Host
	Log     *slog.Logger
	Version string           // of this binary, for GET /v1/version
	Now     func() time.Time // time.Now when nil
	Trusted bool             // who can connect is trusted (the root-only unix socket): no signature is asked for
	Region  string           // of ARNs in answers to requests that name none; DefaultRegion when empty
}

// DefaultRegion is the region of ARNs when a request names none.
const DefaultRegion = "us-east-1"
