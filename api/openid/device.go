package openid

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"pinion/raftfsm/issuer"
)

// Prompt is what a person has to do to log in.
type Prompt struct {
	URL      string // to open in a browser, anywhere
	Code     string // to enter there
	Complete string // URL with the code in it; may be empty
}

// maxInterval is how many seconds an issuer may have a device wait between two questions.
const maxInterval = 300

// LogIn gets an ID token by the device authorization flow (RFC 8628): ask shows the person the prompt, and the person logs in in any
// browser. It ends when the person has, has declined, or the code has expired.
func LogIn(ctx context.Context, at *issuer.Issuer, ask func(Prompt)) (token string, err error) {
	if err := issuer.CheckURL(at.URL); err != nil {
		return "", err
	}
	client, err := newClient(at)
	if err != nil {
		return "", err
	}
	ctx = oidc.ClientContext(ctx, client)
	provider, err := oidc.NewProvider(ctx, at.URL)
	if err != nil {
		return "", fmt.Errorf("the issuer %s, at which people of this pool log in: %w", at.URL, err)
	}
	flow := oauth2.Config{ClientID: at.ClientID, Endpoint: provider.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, at.Scopes...)}
	flow.Endpoint.AuthStyle = oauth2.AuthStyleInParams // a client without a secret
	if flow.Endpoint.DeviceAuthURL == "" {
		return "", errNoDevice
	}
	device, err := flow.DeviceAuth(ctx)
	if err != nil {
		return "", fmt.Errorf("the issuer %s: %w", at.URL, err)
	}
	if device.Interval < 0 || device.Interval > maxInterval {
		return "", fmt.Errorf("the issuer %s wants to be asked every %d seconds whether somebody has logged in: at most %d are waited", at.URL, device.Interval, maxInterval)
	}
	prompt := Prompt{URL: device.VerificationURI, Code: device.UserCode, Complete: device.VerificationURIComplete}
	if strings.ContainsFunc(prompt.URL+prompt.Code+prompt.Complete, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", errors.New("the issuer answers with characters that no terminal should show")
	}
	ask(prompt)
	got, err := flow.DeviceAccessToken(ctx, device)
	if err != nil {
		return "", fmt.Errorf("the issuer %s: %w", at.URL, err)
	}
	token, is := got.Extra("id_token").(string)
	if !is {
		return "", fmt.Errorf("the issuer %s gives no ID token: the client %s has to be one for OpenID Connect, with the scope openid", at.URL, at.ClientID)
	}
	return token, nil
}
