//! Puts trace points into one function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned, ToTokens};
use syn::spanned::Spanned;
use syn::{Error, Expr, Path, Result};

use crate::arguments::{arguments, at, ours};
use crate::attr::{OptionValue, Options};
use crate::body::{boxed_tail, may_return_early};
use crate::defaults::{Defaults, Mode};
use crate::item::Function;
use crate::parameters::Parameters;
use crate::shape::{nameable_output, named_output, never_returns, Shape};

/// Rewrites the body.
pub(crate) fn trace(function: &mut Function, options: &Options, defaults: &Defaults) -> Result<()> {
    if let Some((span, problem)) = obstacle(function) {
        let skip = if defaults.in_block { ", or exclude it with `#[trace_fn(skip)]`" } else { "" };
        return Err(Error::new(span, format!("{problem}{skip}")));
    }
    check_result(function, options)?;
    let point = Point::new(function, options, defaults)?;
    function.body = match defaults.mode {
        Mode::Checked => point.checked(&function.body),
        Mode::Traced => point.traced(&function.body),
    };
    Ok(())
}

/// The reason why a function cannot be traced: its span, and a message with advice.
pub(crate) fn obstacle(function: &Function) -> Option<(Span, &'static str)> {
    if let Some(word) = function.signature.constness {
        let problem = "a `const fn` cannot be traced: it may run in the compiler; \
                       remove `const`, or put `#[trace_fn]` on its caller";
        return Some((word.span, problem));
    }
    let naked = function.attributes.iter().find(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text == "naked" || text == "unsafe (naked)"
    });
    let problem = "a naked function cannot be traced: it contains only assembler; \
                   put `#[trace_fn]` on its caller";
    naked.map(|attribute| (attribute.span(), problem))
}

/// Checks that the function's result can be recorded.
fn check_result(function: &Function, options: &Options) -> Result<()> {
    let Some(OptionValue { option, .. }) = options.ret.as_ref().or(options.err.as_ref()) else {
        return Ok(());
    };
    if never_returns(&function.signature) {
        let name = &function.signature.ident;
        return Err(Error::new(
            option.span(),
            format!("`{name}` never returns: remove `{option}`"),
        ));
    }
    let asks_caller =
        function.attributes.iter().find(|attribute| attribute.path().is_ident("track_caller"));
    if asks_caller.is_some() && Shape::of(&function.signature, &function.body) == Shape::Plain {
        let message = format!(
            "`{option}` puts the body into a closure, where `#[track_caller]` has no effect: remove one of the two"
        );
        return Err(Error::new(option.span(), message));
    }
    Ok(())
}

/// A function's trace point, as tokens.
struct Point<'f> {
    function: &'f Function,
    shape: Shape,
    runtime: &'f Path,
    /// The category, a constant.
    category: TokenStream,
    /// Category and name, in the form of the runtime's macros.
    site: TokenStream,
    /// `, key => value` for each argument.
    arguments: TokenStream,
    /// The values alone.
    values: Vec<TokenStream>,
    flow: Option<&'f OptionValue<Expr>>,
    /// The macro that records the result, and the span of its option.
    result: Option<(TokenStream, Span)>,
    parameters: Parameters<'f>,
}

impl<'f> Point<'f> {
    fn new(function: &'f Function, options: &'f Options, defaults: &'f Defaults) -> Result<Self> {
        let runtime = defaults.runtime(options);
        let parameters = Parameters::of(&function.signature);
        let shape = Shape::of(&function.signature, &function.body);
        let category = match defaults.category(options) {
            Some(text) => text.to_token_stream(),
            None => quote!(#runtime::__trace_category!()),
        };
        let name = match &options.name {
            Some(OptionValue { value, .. }) => quote!(#runtime::__trace_name!(#value)),
            None => quote!(#runtime::__trace_function_name!()),
        };
        let recorded = arguments(options, defaults, &parameters, shape, runtime)?;
        Ok(Point {
            function,
            shape,
            runtime,
            site: quote!((#category, #name)),
            category,
            arguments: recorded.iter().map(|(key, value)| quote!(, #key => #value)).collect(),
            values: recorded.into_iter().map(|(_, value)| value).collect(),
            flow: options.flow.as_ref(),
            result: result(options),
            parameters,
        })
    }

    fn traced(&self, body: &TokenStream) -> TokenStream {
        match self.shape {
            Shape::Plain => self.plain(body),
            Shape::Async => self.async_fn(body),
            Shape::Future => self.future(body),
            Shape::BoxedFuture => self.boxed_future(body),
        }
    }

    /// The body, and a check of the arguments' types that is not executed.
    fn checked(&self, body: &TokenStream) -> TokenStream {
        let Point { runtime, values, .. } = self;
        let flow = self.flow.map(|it| &it.value);
        let result = self.checked_result();
        quote!(#runtime::__ntrace_fn!([#flow] [#result] #(, #values)*); #body)
    }

    /// A type check of the result, on a value that never exists. Empty if the type has no name.
    fn checked_result(&self) -> TokenStream {
        let output = named_output(&self.function.signature);
        let is_output = matches!(self.shape, Shape::Plain | Shape::Async);
        match (&self.result, output) {
            (Some((what, span)), Some(output)) if is_output => {
                let runtime = at(self.runtime, *span);
                quote_spanned!(*span=> #what #runtime::__attribute::never::<#output>())
            }
            _ => TokenStream::new(),
        }
    }

    /// A duration around the body.
    fn plain(&self, body: &TokenStream) -> TokenStream {
        let Point { runtime, site, arguments, .. } = self;
        let flow = self.flow_record();
        let scope = local("_trace_fn");
        let body = if self.result.is_some() { self.with_result(body) } else { body.clone() };
        quote! {
            let #scope = #runtime::__trace_fn_begin!(#site #arguments);
            #flow
            #body
        }
    }

    /// The body in a closure, so that `return` and `?` pass their result through the trace point.
    fn with_result(&self, body: &TokenStream) -> TokenStream {
        let result = local("__trace_result");
        let record = self.result_record(&result.to_token_stream());
        let body = self.closure(body);
        quote!(let #result = #body; #record #result)
    }

    /// The body as a closure that is called at once and owns the parameters.
    fn closure(&self, body: &TokenStream) -> TokenStream {
        let runtime = self.runtime;
        let capture = self.parameters.capture();
        let output = nameable_output(&self.function.signature).map(|output| quote!(-> #output));
        let block = self.function.block(quote!(#capture #body));
        quote!(#runtime::__attribute::once(move || #output #block))
    }

    /// A task around the body.
    fn async_fn(&self, body: &TokenStream) -> TokenStream {
        let capture = self.parameters.capture();
        let output = self.expected_output();
        let flow = self.flow_record();
        let block = self.function.block(quote!(#output #capture #flow #body));
        let future = quote!(async move #block);
        let (begin, task) = self.begin_task();
        let future = self.task(&task, &self.recorded_future(&future, None));
        if never_returns(&self.function.signature) {
            return quote!(#begin match #future.await {});
        }
        quote!(#begin #future.await)
    }

    /// Declares the output type inside an async block, which has no syntax for it.
    fn expected_output(&self) -> TokenStream {
        let runtime = self.runtime;
        let output = if never_returns(&self.function.signature) {
            Some(quote!(#runtime::__attribute::Never))
        } else {
            nameable_output(&self.function.signature)
        };
        output.map_or_else(
            TokenStream::new,
            |output| quote!(if false { return #runtime::__attribute::never::<#output>(); }),
        )
    }

    /// A task around the returned future.
    fn future(&self, body: &TokenStream) -> TokenStream {
        let future = if may_return_early(body.clone()) {
            self.closure(body)
        } else {
            // Without a statement, a lint would report the braces as unnecessary.
            self.function.block(quote!(let () = (); #body)).into_token_stream()
        };
        let (begin, task) = self.make_task();
        let (flow_id, before) = self.later_flow();
        let future = self.task(&task, &self.recorded_future(&future, before));
        quote!(#begin #flow_id #future)
    }

    /// A task inside the returned box.
    ///
    /// A box from elsewhere is not boxed once more: `dyn Future<Output = T> + 'static` outlives
    /// `'static` for the compiler only if `T` does, which a generic function need not declare.
    fn boxed_future(&self, body: &TokenStream) -> TokenStream {
        let Some((call, boxed)) = boxed_tail(body) else { return self.plain(body) };
        let (begin, task) = self.make_task();
        let (flow_id, before) = self.later_flow();
        let future = self.task(&task, &self.recorded_future(&strip_comma(boxed.stream()), before));
        quote_spanned!(boxed.span()=> #begin #flow_id #call(#future))
    }

    /// A task of a future that is polled later, or never. If the call has no arguments or flow to
    /// record, the task begins with the first poll.
    fn make_task(&self) -> (TokenStream, Ident) {
        if !self.values.is_empty() {
            return self.begin_task();
        }
        let Point { runtime, site, .. } = self;
        let task = local("__trace_task");
        (quote!(let #task = #runtime::__trace_task_make!(#site);), task)
    }

    fn begin_task(&self) -> (TokenStream, Ident) {
        let Point { runtime, site, arguments, .. } = self;
        let task = local("__trace_task");
        (quote!(let #task = #runtime::__trace_task_begin!(#site #arguments);), task)
    }

    fn task(&self, task: &Ident, future: &TokenStream) -> TokenStream {
        let runtime = self.runtime;
        quote!(#runtime::__private::TraceFuture::begun(#task, #future))
    }

    /// A future with records at its first poll and of its output.
    fn recorded_future(&self, future: &TokenStream, before: Option<TokenStream>) -> TokenStream {
        if before.is_none() && self.result.is_none() {
            return future.clone();
        }
        let runtime = self.runtime;
        let result = local("__trace_result");
        let record = self.result_record(&quote!(*#result));
        let before = before.unwrap_or_default();
        quote!(#runtime::__attribute::observed(#future, move || { #before }, |#result| { let _ = #result; #record }))
    }

    /// The record of a flow, if the body runs in the call.
    fn flow_record(&self) -> TokenStream {
        let Some(OptionValue { option, value }) = self.flow else { return TokenStream::new() };
        let Point { runtime, category, .. } = self;
        let event = flow_event(option);
        quote!(#runtime::__trace_fn_flow!(#event, #category, #value);)
    }

    /// The id of a flow, evaluated in the call, and its record for the first poll.
    fn later_flow(&self) -> (TokenStream, Option<TokenStream>) {
        let Some(OptionValue { option, value }) = self.flow else {
            return (TokenStream::new(), None);
        };
        let Point { runtime, category, .. } = self;
        let (event, id) = (flow_event(option), local("__trace_flow"));
        (
            quote!(let #id = #runtime::__trace_fn_flow_id!(#category, #value);),
            Some(quote!(#runtime::__trace_fn_flow_later!(#event, #category, #id);)),
        )
    }

    /// The record of a result.
    fn result_record(&self, result: &TokenStream) -> TokenStream {
        let Some((what, span)) = &self.result else { return TokenStream::new() };
        let (runtime, category) = (at(self.runtime, *span), &self.category);
        quote_spanned!(*span=> #runtime::__trace_fn_result!(#what, #category, #result);)
    }
}

/// `ret`, `err` or `both`.
fn result(options: &Options) -> Option<(TokenStream, Span)> {
    match (&options.ret, &options.err) {
        (None, None) => None,
        (Some(ret), None) => Some((quote!(ret), ours(ret.option.span()))),
        (None, Some(err)) => Some((quote!(err), ours(err.option.span()))),
        (Some(_), Some(err)) => Some((quote!(both), ours(err.option.span()))),
    }
}

fn flow_event(option: &Ident) -> Ident {
    let event = match option.to_string().as_str() {
        "flow_begin" => "FlowBegin",
        "flow_end" => "FlowEnd",
        _ => "FlowStep",
    };
    Ident::new(event, option.span())
}

/// A variable that cannot collide with names in the function.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Removes a trailing comma.
fn strip_comma(arguments: TokenStream) -> TokenStream {
    let mut tokens: Vec<_> = arguments.into_iter().collect();
    if tokens.last().is_some_and(|last| last.to_string() == ",") {
        tokens.pop();
    }
    tokens.into_iter().collect()
}
