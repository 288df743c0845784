package runtime

import "context"

// RegistryLogin are the credentials of one registry for one pull. It is kept in memory alone, and given to that registry alone.
type RegistryLogin struct{ Username, Password string }

// String keeps the password out of texts.
func (RegistryLogin) String() string { return "(credentials of a registry)" }

// GoString is String for %#v.
func (l RegistryLogin) GoString() string { return l.String() }

type registryLoginKey struct{}

// WithRegistryLogin is a context in which Images.Pull uses the credentials of a task, and not those of the host.
func WithRegistryLogin(ctx context.Context, login RegistryLogin) context.Context {
	return context.WithValue(ctx, registryLoginKey{}, login)
}

// RegistryLoginOf are the credentials of WithRegistryLogin; ok is false when there are none.
func RegistryLoginOf(ctx context.Context) (login RegistryLogin, ok bool) {
	login, ok = ctx.Value(registryLoginKey{}).(RegistryLogin)
	return login, ok
}
