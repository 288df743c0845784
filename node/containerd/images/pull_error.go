package images

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	remoteerrors "github.com/containerd/containerd/v2/core/remotes/errors"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// pullError names the image, the registry and the cause of a failed pull, and the remedy.
type pullError struct {
	image, registry string
	problem, advice string
	unreachable     bool
	cause           error
}

func (e *pullError) Error() string {
	text := fmt.Sprintf("image %s from registry %s: %s", e.image, e.registry, plainText(e.problem))
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

func (e *pullError) Unwrap() error { return e.cause }

// maxProblem bounds the quotation of a registry's answer in an error, in bytes.
const maxProblem = 500

// plainText makes the text of a registry fit for a terminal and a table.
func plainText(said string) string {
	printable := func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}
	if len(said) > maxProblem {
		said = strings.ToValidUTF8(said[:maxProblem], "") + "..."
	}
	return strings.Map(printable, said)
}

func isUnreachable(err error) bool {
	var pull *pullError
	return errors.As(err, &pull) && pull.unreachable
}

// explainPull converts the causes of a failed pull to text for people.
func (s *Store) explainPull(ctx context.Context, named reference.Named, resolver remotes.Resolver, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &pullError{image: named.String(), registry: reference.Domain(named), cause: err, problem: err.Error()}
	where := s.config.RegistryConfig
	if where == "" {
		where = "the registry configuration directory"
	}
	var status remoteerrors.ErrUnexpectedStatus
	var unknownCA x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var mismatch *platformMismatchError
	var full *floorError
	switch {
	case errors.As(err, &full):
		e.problem, e.advice = full.Error(), floorAdvice
	case errors.As(err, &mismatch):
		e.problem, e.advice = mismatch.Error(), platformAdvice
	case errors.Is(err, errStalled):
		e.problem, e.advice, e.unreachable = fmt.Sprintf("it sent nothing for %v", s.config.StallTimeout), "check the network and try again", true
	case errors.Is(err, errSlow), errors.Is(err, errTooLong), errors.Is(err, errNoImage):
		e.problem, e.advice = innermostError(err), "check the image and its registry"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.problem, e.advice, e.unreachable = "its answer broke off: "+innermostError(err), "check the network and try again", true
	case isPlainHTTP(err):
		e.problem = "it does not speak TLS, and what comes over plain HTTP anybody on the way can change"
		e.advice = fmt.Sprintf("to use it all the same, put [host.\"http://%s\"] into %s/certs.d/%s/hosts.toml", e.registry, where, e.registry)
	case isNetworkError(err):
		e.problem, e.advice, e.unreachable = "it cannot be reached: "+innermostError(err), "check the network, or name a mirror in "+where+"/certs.d", true
	case errors.As(err, &unknownCA), errors.As(err, &certificate):
		e.problem, e.advice = "its certificate is not trusted: "+innermostError(err), "put its CA in "+where+"/certs.d/"+e.registry
	case errors.Is(err, syscall.ENOSPC), strings.Contains(err.Error(), "no space left on device"):
		e.problem, e.advice = "there is no space left on this host's disk", "free some, and try again"
	case errors.Is(err, docker.ErrInvalidAuthorization), errors.As(err, &status) && (status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden):
		e.problem, e.advice = "it does not exist there or needs credentials", "check the name, or put credentials in "+where+"/config.json (docker login writes it)"
	case errors.As(err, &status) && status.StatusCode == http.StatusTooManyRequests:
		e.problem, e.advice, e.unreachable = "the registry takes no more requests for now", "wait, or put credentials in "+where+"/config.json", true
	case errors.As(err, &status) && status.StatusCode >= 500:
		e.problem, e.unreachable = "the registry fails: "+status.Status, true
	case errdefs.IsNotFound(err):
		s.explainMissing(ctx, e, named, resolver)
	}
	return e
}

// explainMissing tells a missing image from one without this host's platform, and from one that is not whole.
func (s *Store) explainMissing(ctx context.Context, e *pullError, named reference.Named, resolver remotes.Resolver) {
	name, target, err := resolver.Resolve(ctx, named.String())
	if err != nil {
		e.problem, e.advice = "there is no such image", "check its name and tag"
		return
	}
	found := offeredPlatforms(ctx, name, target, resolver)
	if len(found) > 0 && !slices.ContainsFunc(found, platforms.Default().Match) {
		e.problem, e.advice = (&platformMismatchError{platforms: found}).Error(), platformAdvice
		return
	}
	e.problem, e.advice = "the registry does not have all of it: "+e.problem, "push it again"
}

const platformAdvice = "use an image for this host's platform, or a host of the image's"

// offeredPlatforms reads the platforms of an image index from the registry; none when there is no index.
func offeredPlatforms(ctx context.Context, name string, target ocispec.Descriptor, resolver remotes.Resolver) []ocispec.Platform {
	if !images.IsIndexType(target.MediaType) {
		return nil
	}
	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return nil
	}
	raw, err := readBlob(ctx, fetcher, target)
	if err != nil {
		return nil
	}
	return platformsOfIndex(raw)
}

func readBlob(ctx context.Context, fetcher remotes.Fetcher, d ocispec.Descriptor) ([]byte, error) {
	blob, err := fetcher.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	text, err := io.ReadAll(io.LimitReader(blob, maxManifest))
	if err == nil {
		err = checkElements(d.MediaType, text)
	}
	return text, err
}

// isPlainHTTP reports whether the registry answered without TLS.
func isPlainHTTP(err error) bool {
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record)
}

// isNetworkError reports whether the registry could not be reached at all.
func isNetworkError(err error) bool {
	var operation *net.OpError
	var lookup *net.DNSError
	var request *url.Error
	return errors.As(err, &operation) || errors.As(err, &lookup) ||
		errors.As(err, &request) && (request.Timeout() || errors.Is(request.Err, io.EOF)) // it hung up instead of an answer
}

// innermostError returns the innermost text of a network error, without the wrapping prefixes.
func innermostError(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err.Error()
	}
	return err.Error()
}
