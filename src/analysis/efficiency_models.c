/* SPDX-License-Identifier: MIT */
/* The factors of all models from their inputs: arithmetic alone. */
#include "efficiency.h"

#include <math.h>

enum needs { NEEDS_NOTHING, NEEDS_MPI, NEEDS_OPENMP, NEEDS_DEVICE, NEEDS_IDEAL };

static const struct efficiency_input_text input_texts[] = {
#define EFFICIENCY_INPUT(enumerator, symbol, unit, text) {symbol, unit, text},
#include "efficiency.def"
};
static const struct efficiency_model_text model_texts[] = {
#define EFFICIENCY_MODEL(enumerator, name, source) {name, source},
#include "efficiency.def"
};
static const struct efficiency_factor_text factor_texts[] = {
#define EFFICIENCY_FACTOR(model, enumerator, needs, depth, name, formula, expression)                                                      \
    {EFFICIENCY_MODEL_##model, depth, name, formula},
#include "efficiency.def"
};
static const enum needs factor_needs[] = {
#define EFFICIENCY_FACTOR(model, enumerator, needs, depth, name, formula, expression) NEEDS_##needs,
#include "efficiency.def"
};

const struct efficiency_input_text *efficiency_input_text(enum efficiency_input input)
{
    return (unsigned)input < EFFICIENCY_INPUT_COUNT ? &input_texts[input] : NULL;
}

const struct efficiency_model_text *efficiency_model_text(enum efficiency_model model)
{
    return (unsigned)model < EFFICIENCY_MODEL_COUNT ? &model_texts[model] : NULL;
}

const struct efficiency_factor_text *efficiency_factor_text(enum efficiency_factor factor)
{
    return (unsigned)factor < EFFICIENCY_FACTOR_COUNT ? &factor_texts[factor] : NULL;
}

static double evaluate(const struct efficiency_inputs *inputs, enum efficiency_factor factor)
{
#define EFFICIENCY_INPUT(enumerator, symbol, unit, text)                                                                                  \
    const double enumerator = inputs->value[EFFICIENCY_INPUT_##enumerator];                                                                \
    (void)enumerator;
#include "efficiency.def"
    switch (factor) {
#define EFFICIENCY_FACTOR(model, enumerator, needs, depth, name, formula, expression)                                                      \
    case EFFICIENCY_##enumerator: return expression;
#include "efficiency.def"
    default: return (double)NAN;
    }
}

/* Why a model says nothing of this run; NULL: it does. */
static const char *model_reason(const struct efficiency_inputs *inputs, enum efficiency_model model)
{
    bool device_model = model == EFFICIENCY_MODEL_DEVICE || model == EFFICIENCY_MODEL_DEVICE_NCCL;
    if (device_model && !inputs->devices)
        return "no work of a device in the trace";
    if (model == EFFICIENCY_MODEL_DEVICE_NCCL && !inputs->nccl)
        return "no work of NCCL in the trace";
    if (device_model)
        return NULL;
    if (!inputs->mpi && !inputs->openmp && !(inputs->devices && model == EFFICIENCY_MODEL_TALP))
        return "neither MPI nor OpenMP in the trace";
    if (model == EFFICIENCY_MODEL_POP && inputs->mpi && inputs->openmp)
        return "processes and threads both: see the hybrid models";
    if (model == EFFICIENCY_MODEL_HYBRID && !(inputs->mpi && inputs->openmp))
        return inputs->mpi ? "no OpenMP in the trace" : "no MPI in the trace";
    return NULL;
}

static const char *factor_reason(const struct efficiency_inputs *inputs, enum needs needs)
{
    switch (needs) {
    case NEEDS_MPI:
    case NEEDS_IDEAL: return inputs->mpi ? NULL : "no MPI in the trace";
    case NEEDS_OPENMP: return inputs->openmp ? NULL : "no OpenMP in the trace";
    case NEEDS_DEVICE: return inputs->devices ? NULL : "no work of a device in the trace";
    default: return NULL;
    }
}

void efficiency_compute(const struct efficiency_inputs *inputs, struct efficiency_value values[EFFICIENCY_FACTOR_COUNT])
{
    for (unsigned i = 0; i < EFFICIENCY_FACTOR_COUNT; i++) {
        struct efficiency_value *value = &values[i];
        const char *reason = model_reason(inputs, factor_texts[i].model);
        reason = reason ? reason : factor_reason(inputs, factor_needs[i]);
        *value = (struct efficiency_value){.status = EFFICIENCY_NOT_APPLICABLE, .value = (double)NAN, .reason = reason};
        if (reason)
            continue;
        value->value = evaluate(inputs, (enum efficiency_factor)i);
        if (isfinite(value->value)) {
            value->status = EFFICIENCY_KNOWN;
        } else {
            value->value = (double)NAN;
            value->status = EFFICIENCY_NOT_SEPARABLE;
            value->reason = factor_needs[i] == NEEDS_IDEAL && inputs->ideal_reason ? inputs->ideal_reason : "nothing to divide by";
        }
    }
}

static double parallel_of(const struct efficiency *run)
{
    static const enum efficiency_factor wholes[] = {EFFICIENCY_POP_PE, EFFICIENCY_HYBRID_PE};
    for (unsigned i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (run->values[wholes[i]].status == EFFICIENCY_KNOWN)
            return run->values[wholes[i]].value;
    return (double)NAN;
}

void efficiency_scale(const struct efficiency *reference, const struct efficiency *run, bool weak, struct efficiency_scaling *ret_scaling)
{
    const double *first = reference->inputs.value, *other = run->inputs.value;
    double growth = weak ? other[EFFICIENCY_INPUT_T] / first[EFFICIENCY_INPUT_T] : 1;
    ret_scaling->parallel = parallel_of(run);
    ret_scaling->computation = first[EFFICIENCY_INPUT_SUM_U] / other[EFFICIENCY_INPUT_SUM_U] * growth;
    ret_scaling->global = ret_scaling->parallel * ret_scaling->computation;
    ret_scaling->speedup = first[EFFICIENCY_INPUT_R] / other[EFFICIENCY_INPUT_R] * growth;
}
