// Package client is the Go client of a Pinion host: it runs Amazon ECS operations and reads Pinion's own documents (hosts,
// GPUs, queue, teams, logs, events), over the unix socket of a host on this machine or over TLS with signed requests. Any
// host of a pool answers. The types of this package are those of the API; nothing else of Pinion is needed beside them.
//
// Methods return an *APIError when the host refuses a request, and an error that wraps ErrUnreachable when no host
// answers. Nothing is retried unless Retry is asked to.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Config is the address of a host and the credentials for it. With Host empty the unix socket is used: root may do there without a
// key what the host may do, which on a server of the pool is everything.
type Config struct {
	Socket string // path of the unix socket of a host on this machine: pinion.sock in its data directory
	Host   string // of the TLS port of any host, as Address takes it
	KeyID  string // access key that signs requests; through the socket none is needed, and one that is given acts
	Secret string // its secret
	CAFile string // PEM file with the CA of Host's certificate; empty: the CAs of the operating system
	CA     []byte // the same as PEM, instead of a file
	Region string // region that requests are signed for, and that ARNs in answers name; empty: DefaultRegion

	// Unknown, where the socket is used with a key that may be of another cloud: it is called once when the pool does not know the key, and
	// this request and all later ones have none. Nil: such a request is refused.
	Unknown func()
}

// DefaultRegion is the region that requests are signed for unless Config has one; hosts accept any.
const DefaultRegion = "us-east-1"

// Client sends requests to one host. It is safe for concurrent use, and keeps connections open between requests.
type Client struct{ transport *transport }

// New returns a client for a host. It checks the configuration and reads the CA file; it does not connect yet.
func New(config Config) (*Client, error) {
	c, err := connect(config)
	if err == nil && config.Host != "" && (config.KeyID == "" || config.Secret == "") {
		return nil, errors.New("talking to a host over the network needs an access key. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; `pinion env` on the host prints a pair, and `pinion login` gets one where the pool has people log in")
	}
	return c, err
}

func connect(config Config) (*Client, error) {
	if config.Region == "" {
		config.Region = DefaultRegion
	}
	if config.Host == "" {
		return &Client{&transport{config: config, base: "http://pinion", http: &http.Client{Transport: socketTransport(config.Socket), CheckRedirect: noRedirect}}}, nil
	}
	var err error
	if config.Host, err = Address(config.Host); err != nil {
		return nil, err
	}
	tls, err := tlsTransport(config)
	if err != nil {
		return nil, err
	}
	return &Client{&transport{config: config, base: "https://" + config.Host, http: &http.Client{Transport: tls, CheckRedirect: noRedirect}}}, nil
}

// Reply is the answer of an operation.
type Reply struct {
	Body     json.RawMessage // the output, as JSON
	Warnings []string        // what the host accepted but ignored or rewrote, for people
}

// Call runs an ECS operation with in as its JSON input, and decodes the output into out unless that is nil.
func (c *Client) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	reply, err := c.Send(ctx, operation, "application/json", body)
	if err != nil || out == nil {
		return err
	}
	return decode(operation, reply.Body, out)
}

// Send runs an ECS operation with a body as it is: JSON, or YAML with contentType "application/yaml".
func (c *Client) Send(ctx context.Context, operation, contentType string, body []byte) (Reply, error) {
	header := http.Header{"Content-Type": {contentType}}
	response, err := c.transport.do(ctx, http.MethodPost, "/v1/"+operation, header, body)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: the answer was cut off: %w. The request may have been carried out: check before you repeat it", operation, err)
	}
	return Reply{Body: answer, Warnings: response.Header.Values("X-Pinion-Warning")}, nil
}

// Get reads a document of Pinion's own API, such as /v1/hosts, into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	_, body, err := c.transport.read(ctx, path, query)
	if err != nil {
		return err
	}
	return decode(path, body, out)
}

// decode reads an answer; request is named in the error.
func decode(request string, body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s: the host's answer cannot be read: %w. Client and host may be of different versions: see `pinion version`", request, err)
	}
	return nil
}
