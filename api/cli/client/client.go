// Package client talks to a Pinion host through the plain HTTP door: over the unix socket of its data directory, or
// over TLS with signed requests.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Config says which host to talk to. With Host empty the unix socket is used and nothing is signed.
type Config struct {
	Socket string // path of the unix socket of a host on this machine
	Host   string // host:port of the TLS port of any host
	KeyID  string // access key that signs requests to Host
	Secret string
	CAFile string // PEM file with the CA of Host's certificate; empty: the machine's own CAs
	Region string // region that requests are signed for, and that ARNs in answers name
}

// DefaultRegion is signed for when nothing else is said; the door accepts any.
const DefaultRegion = "us-east-1"

// Client is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
	base   string // "https://host:port", or "http://pinion" over the socket
}

// New checks the configuration and reads the CA file; it connects to nothing yet.
func New(config Config) (*Client, error) {
	if config.Region == "" {
		config.Region = DefaultRegion
	}
	if config.Host == "" {
		return &Client{config: config, base: "http://pinion", http: &http.Client{Transport: socketTransport(config.Socket)}}, nil
	}
	if _, _, err := net.SplitHostPort(config.Host); err != nil {
		return nil, fmt.Errorf("host %q is not HOST:PORT, such as gpu1.example.com:7400", config.Host)
	}
	if config.KeyID == "" || config.Secret == "" {
		return nil, errors.New("talking to a host over the network needs an access key. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; `pinion env` on the host prints a pair")
	}
	transport, err := tlsTransport(config.CAFile)
	if err != nil {
		return nil, err
	}
	return &Client{config: config, base: "https://" + config.Host, http: &http.Client{Transport: transport}}, nil
}

// SocketPath is the path of the unix socket, empty when the client talks over the network.
func (c *Client) SocketPath() string {
	if c.config.Host != "" {
		return ""
	}
	return c.config.Socket
}

// Reply is what an operation answered.
type Reply struct {
	Body     json.RawMessage
	Warnings []string // what the door accepted but ignored or rewrote, for people
}

// Call runs an ECS operation with in as its JSON input, and decodes the answer into out unless that is nil.
func (c *Client) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	reply, err := c.Send(ctx, operation, "application/json", body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return fmt.Errorf("%s: the host's answer cannot be read: %w. Client and host may be of different versions: see `pinion version`", operation, err)
	}
	return nil
}

// Send runs an ECS operation with a body as it is: JSON, or YAML with contentType "application/yaml".
func (c *Client) Send(ctx context.Context, operation, contentType string, body []byte) (Reply, error) {
	header := http.Header{"Content-Type": {contentType}}
	response, err := c.request(ctx, http.MethodPost, "/v1/"+operation, header, body)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: the answer broke off: %w. It may have been done: look before trying again", operation, err)
	}
	return Reply{Body: answer, Warnings: response.Header.Values("X-Pinion-Warning")}, nil
}

// Get reads a document of the plain door into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	response, err := c.openStream(ctx, path, query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("%s: the host's answer cannot be read: %w. Client and host may be of different versions: see `pinion version`", path, err)
	}
	return nil
}

func (c *Client) openStream(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.request(ctx, http.MethodGet, path, http.Header{}, nil)
}

// request sends one request and turns everything but success into an error.
func (c *Client) request(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	request.Header = header
	request.Header.Set("User-Agent", "pinion")
	if c.config.Host != "" {
		if err := c.sign(ctx, request, body, time.Now()); err != nil {
			return nil, err
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.connectionError(err)
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		return nil, readAPIError(response)
	}
	return response, nil
}
