import { Inject, Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { environmentConfig } from '../base/config/environment.js';
import { AuthGuard } from './auth.guard.js';
import { authOptions, type AuthOptions } from './auth.options.js';
import { AUTH_OPTIONS, AuthService } from './auth.service.js';

/** Who may do what (http-api 1.1). It is part of the application only with JWT_ENABLED; without, requests cost nothing more. */
@Module({
  providers: [
    { provide: AUTH_OPTIONS, inject: [environmentConfig.KEY], useFactory: authOptions },
    AuthService,
  ],
  exports: [AuthService],
})
export class AuthModule {
  constructor(host: HttpAdapterHost, auth: AuthService, @Inject(AUTH_OPTIONS) options: AuthOptions) {
    new AuthGuard(auth, options.skipPaths).attach(host.httpAdapter.getInstance<FastifyInstance>());
  }
}
