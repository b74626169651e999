# Two commands do everything: `make run` and `make test`. What they do is in xtask, in Rust.

XTASK = cargo run --quiet -p xtask --

.PHONY: run test bench fault fuzz real-models openapi

run:
	@$(XTASK) run $(ARGS)

test:
	@$(XTASK) test

bench:
	@$(XTASK) bench $(ARGS)

fault:
	@$(XTASK) fault $(ARGS)

fuzz:
	@$(XTASK) fuzz $(ARGS)

real-models:
	@$(XTASK) real-models $(ARGS)

openapi:
	@$(XTASK) openapi
