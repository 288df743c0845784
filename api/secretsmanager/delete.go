package secretsmanager

import (
	"context"
	"errors"
	"time"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

// Days until a secret that is deleted goes for good.
const (
	minWindow     = 7
	maxWindow     = 30
	defaultWindow = 30
)

type deleteInput struct {
	SecretID                   string `json:"SecretId"`
	ForceDeleteWithoutRecovery bool   `json:"ForceDeleteWithoutRecovery"`
	RecoveryWindowInDays       *int   `json:"RecoveryWindowInDays"`
}

type deleteOutput struct {
	named
	DeletionDate wire.Time `json:"DeletionDate"`
}

func deleteSecret(ctx context.Context, r *secrets.Request, in *deleteInput) (*deleteOutput, error) {
	name, err := parse(in.SecretID)
	if err != nil {
		return nil, err
	}
	days := defaultWindow
	switch {
	case in.ForceDeleteWithoutRecovery && in.RecoveryWindowInDays != nil:
		return nil, errInvalid("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	case in.ForceDeleteWithoutRecovery:
		return deleteForGood(ctx, r, name)
	case in.RecoveryWindowInDays != nil:
		if days = *in.RecoveryWindowInDays; days < minWindow || days > maxWindow {
			return nil, errInvalid("RecoveryWindowInDays must be %d to %d, not %d.", minWindow, maxWindow, days)
		}
	}
	deleted, err := r.Change(ctx, store, name, errNone, func(known *secret.Secret) (*secret.Secret, error) {
		if secret.ReadOnly(known) != nil {
			return nil, wire.Errorf(invalidRequest, "You can't perform this operation on the secret because it was already scheduled for deletion.")
		}
		changed := known.Clone()
		changed.DeletedAt = r.Now().UTC()
		changed.DeleteAt = changed.DeletedAt.Add(time.Duration(days) * 24 * time.Hour)
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	return &deleteOutput{nameOf(r, deleted), wire.NewTime(deleted.DeleteAt)}, nil
}

// deleteForGood deletes a secret at once. That there is none is no error, as on AWS: a request that is repeated means no more.
func deleteForGood(ctx context.Context, r *secrets.Request, name string) (*deleteOutput, error) {
	out := &deleteOutput{named: named{Name: name}, DeletionDate: wire.NewTime(r.Now())}
	if known := r.Find(store, name); known != nil {
		out.named = nameOf(r, known)
	}
	if err := r.Delete(ctx, store, name, errNone); err != nil && !errors.Is(err, errNone) {
		return nil, err
	}
	return out, nil
}

// restoreSecret keeps a secret that was to be deleted.
func restoreSecret(ctx context.Context, r *secrets.Request, in *idInput) (*named, error) {
	name, err := parse(in.SecretID)
	if err != nil {
		return nil, err
	}
	restored, err := r.Change(ctx, store, name, errNone, func(known *secret.Secret) (*secret.Secret, error) {
		if secret.ReadOnly(known) == nil {
			return known, nil
		}
		changed := known.Clone()
		changed.DeletedAt, changed.DeleteAt = time.Time{}, time.Time{}
		return changed, nil
	})
	if err != nil {
		return nil, err
	}
	out := nameOf(r, restored)
	return &out, nil
}
