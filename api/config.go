package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Config is what a handler serves from. What has to do with other hosts may be left out: a host that is alone answers
// everything itself.
type Config struct {
	Store    Store
	TaskHost TaskHost
	Log      *slog.Logger
	Version  string           // of this binary, for GET /v1/version
	HostID   string           // of this host: logs of its tasks are read here, those of other tasks are asked for there
	Now      func() time.Time // time.Now when nil
	Trusted  bool             // who can connect is trusted (the root-only unix socket): no signature is asked for
	Region   string           // of ARNs in answers to requests that name none; DefaultRegion when empty

	// FromPeer is for the listener that only hosts of the pool can reach: what another host says about a request
	// that it passes on is believed there. See peer.go.
	FromPeer bool
	Leader   Leadership        // nil: this host leads
	Forward  http.RoundTripper // reaches the FromPeer handler of the host at a URL's host:port; nil: nothing is forwarded
	Local    LocalState        // nil: reads with stale=true are like all others
	History  History           // nil, or Stale is: nobody can follow events here
	Queue    Queue             // nil: this host is alone and nothing waits
	Admin    Admin

	Limits *Limits // shared by all handlers of this process; nil: this one has its own
}

// DefaultRegion is the region of ARNs when a request names none.
const DefaultRegion = "us-east-1"
