package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"sync"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/distribution"
)

// rangeAttempts bounds the requests for one part of a blob from one registry: those that are answered with what to log in with, and
// the one that is logged in.
const rangeAttempts = 3

// registryBlob is a blob as the registry of an image has it. It is read as containerd reads it, or by parts, of which several may come
// at a time.
type registryBlob struct {
	fetcher    remotes.Fetcher
	hosts      docker.RegistryHosts
	repository reference.Named
	descriptor ocispec.Descriptor
}

// OpenFrom reads from a byte to the end, as containerd's own client does.
func (b registryBlob) OpenFrom(ctx context.Context, offset int64) (io.ReadCloser, error) {
	body, err := b.fetcher.Fetch(ctx, b.descriptor)
	if err != nil || offset == 0 {
		return body, err
	}
	if seeker, ok := body.(io.Seeker); ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, body, offset)
	}
	if err != nil {
		body.Close()
		return nil, err
	}
	return body, nil
}

// Range reads bytes of it from the first of the registry's hosts that gives parts of blobs.
func (b registryBlob) Range(ctx context.Context, offset, length int64) (body io.ReadCloser, err error) {
	if len(b.descriptor.URLs) > 0 {
		return nil, distribution.ErrNoRanges
	}
	hosts, err := b.hosts(reference.Domain(b.repository))
	if err != nil {
		return nil, err
	}
	ctx = docker.ContextWithAppendPullRepositoryScope(ctx, reference.Path(b.repository))
	err = distribution.ErrNoRanges
	for _, host := range hosts {
		if host.Capabilities.Has(docker.HostCapabilityPull) {
			if body, err = b.rangeFrom(ctx, host, offset, length); err == nil {
				return body, nil
			}
		}
	}
	return nil, err
}

func (b registryBlob) rangeFrom(ctx context.Context, host docker.RegistryHost, offset, length int64) (io.ReadCloser, error) {
	var answers []*http.Response
	for range rangeAttempts {
		response, err := b.requestRange(ctx, host, offset, length)
		if err != nil {
			return nil, err
		}
		if response.StatusCode == http.StatusPartialContent {
			if got, want := response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/%d", offset, offset+length-1, b.descriptor.Size); got != want {
				response.Body.Close()
				return nil, fmt.Errorf("the registry answers a request for %s with %.100q: %w", want, got, distribution.ErrNoRanges)
			}
			return response.Body, nil
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized || host.Authorizer == nil {
			return nil, distribution.ErrNoRanges // or an error, which the request for the whole blob will meet too
		}
		answers = append(answers, response)
		if err := host.Authorizer.AddResponses(ctx, answers); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the registry asks for a login again and again")
}

func (b registryBlob) requestRange(ctx context.Context, host docker.RegistryHost, offset, length int64) (*http.Response, error) {
	domain := reference.Domain(b.repository)
	address := url.URL{Scheme: host.Scheme, Host: host.Host, Path: path.Join("/", host.Path, reference.Path(b.repository), "blobs", b.descriptor.Digest.String())}
	if domain != host.Host && (domain != "docker.io" || host.Host != "registry-1.docker.io") {
		address.RawQuery = url.Values{"ns": {domain}}.Encode() // a mirror is told whose images it is asked for
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range host.Header {
		request.Header[name] = values
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	if host.Authorizer != nil {
		if err := host.Authorizer.Authorize(ctx, request); err != nil {
			return nil, err
		}
	}
	client := host.Client
	if client == nil {
		client = http.DefaultClient
	}
	return client.Do(request)
}

// rememberHosts asks once for the hosts of each registry, so that all requests of a pull share their logins.
func rememberHosts(hosts docker.RegistryHosts) docker.RegistryHosts {
	var mu sync.Mutex
	known := map[string][]docker.RegistryHost{}
	return func(domain string) ([]docker.RegistryHost, error) {
		mu.Lock()
		defer mu.Unlock()
		if found, ok := known[domain]; ok {
			return found, nil
		}
		found, err := hosts(domain)
		if err == nil {
			known[domain] = found
		}
		return found, err
	}
}
