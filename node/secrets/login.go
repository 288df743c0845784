package secrets

import (
	"context"
	"errors"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// logins gets the credentials of registries for the containers of one task.
type logins struct{ hook *hook }

var _ task.LoginHook = logins{}

func (logins) Name() string { return "registry credentials" }

// RegistryLogin asks the pool each time: nobody keeps what a pull has used. It goes on trying while the pool does not answer.
func (l logins) RegistryLogin(ctx context.Context, container *spec.ContainerDefinition) (login runtime.RegistryLogin, err error) {
	values, err := l.hook.ask(ctx, l.hook.source.Logins, "get the credentials of a registry", []string{container.Name})
	if err != nil {
		return login, err
	}
	for _, v := range values {
		if v.Container == container.Name && v.Name == "" {
			login.Username, login.Password, err = valuefrom.RegistryLogin(v.Value)
			return login, err
		}
	}
	return login, errors.New("the pool's answer lacks them")
}
